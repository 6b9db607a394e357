/** lines yields the lines of a streamed body as they come. A last one that has no end is incomplete, and left out unless the caller wants it. */
export async function* lines(body: ReadableStream<Uint8Array>, unended = false): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        if (unended && rest.length) yield rest.join("");
        return;
      }
      let from = 0;
      for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", from)) {
        rest.push(value.slice(from, end));
        yield rest.join("");
        rest = [];
        from = end + 1;
      }
      if (from < value.length) rest.push(value.slice(from));
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
