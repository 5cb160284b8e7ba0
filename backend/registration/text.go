package registration

import (
	"regexp"
	"strings"
	"unicode"
)

// maxPlainText bounds what is shown of a text from a member, in bytes.
const maxPlainText = 1024

// terminalSequence matches what terminals take for commands.
var terminalSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?`)

// PlainText makes a text from a member fit to be shown: one line, no terminal
// control sequences, bounded.
func PlainText(text string) string {
	text = terminalSequence.ReplaceAllString(text, "")
	if len(text) > maxPlainText {
		text = strings.ToValidUTF8(text[:maxPlainText], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}
