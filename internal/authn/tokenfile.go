package authn

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Tokens is a fixed set of bearer tokens and their users.
//
// Only hashes of the tokens are kept: the time of a look-up reveals nothing about them,
// and neither a memory dump nor a log can show one.
type Tokens struct {
	users map[[sha256.Size]byte]*Identity
}

// TokenFile reads a file of static tokens; see ParseTokens.
func TokenFile(path string) (*Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	t, err := ParseTokens(f)
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return t, nil
}

// ParseTokens reads CSV records of the form token,user,uid[,group...]. A group column may
// hold several groups with commas between them when it is quoted: "dev,ops". Space around
// values is ignored. The error names the line and never quotes it.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := &Tokens{users: map[[sha256.Size]byte]*Identity{}}
	lines := map[[sha256.Size]byte]int{}
	records := csv.NewReader(r)
	records.FieldsPerRecord = -1
	records.TrimLeadingSpace = true
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := records.FieldPos(0)
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if len(record) < 3 {
			return nil, fmt.Errorf("line %d: %d columns where at least 3 are needed: token,user,uid", line, len(record))
		}
		if record[0] == "" || record[1] == "" {
			return nil, fmt.Errorf("line %d: the token and the user name must not be empty", line)
		}
		if strings.Contains(record[0], " ") {
			return nil, fmt.Errorf("line %d: the token has a space in it, which no Authorization header can carry", line)
		}
		key := sha256.Sum256([]byte(record[0]))
		if first, ok := lines[key]; ok {
			return nil, fmt.Errorf("line %d: the token is the same as in line %d; every token has one user", line, first)
		}
		lines[key] = line
		t.users[key] = Known(&User{Name: record[1], UID: record[2], Groups: groupColumns(record[3:])})
	}
}

func groupColumns(columns []string) []string {
	var groups []string
	for _, column := range columns {
		for group := range strings.SplitSeq(column, ",") {
			if group = strings.TrimSpace(group); group != "" {
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// Len is the number of tokens.
func (t *Tokens) Len() int { return len(t.users) }

// AuthenticateToken returns the identity of the bearer of a token of the set, nil for others.
func (t *Tokens) AuthenticateToken(_ context.Context, token string) (*Identity, error) {
	return t.users[sha256.Sum256([]byte(token))], nil
}
