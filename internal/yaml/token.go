package yaml

// kind is the kind of a token.
type kind uint8

const (
	streamEnd kind = iota
	versionDirective
	tagDirective
	documentStart
	documentEnd
	blockSequence // an indentation begins
	blockMapping
	blockEnd
	flowSequence // [
	flowSequenceEnd
	flowMapping // {
	flowMappingEnd
	flowEntry  // ,
	blockEntry // -
	keyMark    // before a key, also where the text has no ?
	valueMark  // :
	alias
	anchor
	tag
	scalar
)

// token is a piece of the text. Its texts are valid until the next one is read.
type token struct {
	kind  kind
	plain bool   // scalar: without quotes, and not a block
	text  []byte // scalar, alias, anchor: its text; tag: its handle
	more  []byte // tag: the part after the handle; tagDirective: the prefix
	pos   int    // of its beginning
	// level is the flow level, from 1, at which this token may turn out to begin a key; 0
	// for other tokens.
	level int
}

// queue holds the scanned tokens that were not taken. They are few: no more than fit
// between the beginning of a key and its colon.
type queue struct {
	tokens []token
	head   int
	taken  int // number taken since the beginning
}

func (q *queue) empty() bool { return q.head == len(q.tokens) }

// next is the number of the next token, counted from the beginning.
func (q *queue) next() int { return q.taken + len(q.tokens) - q.head }

func (q *queue) push(t token) { q.tokens = append(q.tokens, t) }

// insert inserts a token before the one with that number.
func (q *queue) insert(number int, t token) {
	at := q.head + number - q.taken
	q.tokens = append(q.tokens, token{})
	copy(q.tokens[at+1:], q.tokens[at:])
	q.tokens[at] = t
}

func (q *queue) take() token {
	t := q.tokens[q.head]
	q.head++
	q.taken++
	if q.empty() {
		q.tokens, q.head = q.tokens[:0], 0
	}
	return t
}
