package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestActionAnswers: the answers of an action end with the body, with a Status, or with an error when they are broken off
// or not what they should be; leaving the loop ends the request.
func TestActionAnswers(t *testing.T) {
	const a, b = `{"kind":"Widget","metadata":{"name":"a"}}` + "\n", `{"kind":"Widget","metadata":{"name":"b"}}` + "\n"
	for _, c := range []struct{ body, want, fails string }{
		{a + b, "a b", ""},
		{"", "", ""},
		{a + `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not today","reason":"Conflict","code":409}` + "\n", "a", "not today"},
		{a + `{"kind":"Wid`, "a", "broken off"},
		{a + "7\n", "a", "not the expected object"},
	} {
		rest, _ := serve(t, 200, c.body)
		got, failed := "", error(nil)
		for answer, err := range NewFeed[*widget](rest, Row{Prefix: "/apis/example.com/v1", Plural: "widgets"}, "", "tail").Call(t.Context(), "x", StreamOptions{}) {
			if failed = err; err == nil {
				got += answer.GetName() + " "
			}
		}
		if strings.TrimSpace(got) != c.want || (failed == nil) != (c.fails == "") || failed != nil && !strings.Contains(failed.Error(), c.fails) {
			t.Errorf("%q: %q and %v", c.body, got, failed)
		}
		if known := new(Error); c.fails == "not today" && (!errors.As(failed, &known) || known.Code != 409) {
			t.Errorf("the end is %v", failed)
		}
	}
}

// TestActionAnswersEnd: a loop that is left ends the request.
func TestActionAnswersEnd(t *testing.T) {
	left := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.String() != "/apis/example.com/v1/namespaces/n/jobs?timeoutSeconds=5" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		fmt.Fprintln(w, `{"kind":"Widget"}`)
		_ = http.NewResponseController(w).Flush() // its client is there
		<-r.Context().Done()
		close(left)
	}))
	defer s.Close()
	rest, err := NewREST(Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	jobs := NewTaskStream[*widget, *widget](rest, Row{Prefix: "/apis/example.com/v1", Plural: "jobs", Namespaced: true}, "n")
	for _, err := range jobs.Call(t.Context(), &widget{}, StreamOptions{TimeoutSeconds: 5}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-left
}
