/** plain takes the codes of terminals out of a text. */
export function plain(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]|\u001b[()][A-Z0-9]|\r(?!\n)/g, "").replaceAll("\r\n", "\n");
}
