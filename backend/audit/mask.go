package audit

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what an entry keeps: pairs of its detail, and bytes.
const (
	detailPairs = 16
	detailKey   = 64
	detailValue = 256
	fieldLength = 253
)

const masked = "(masked)"

var (
	// secretKey finds names of fields that hold secrets.
	secretKey = regexp.MustCompile(`(?i)passw|secret|kubeconfig|credential|authorization|cookie|private|bearer|csrf|(^|[^a-z])(token|ticket|key)($|[^a-z])|api-?key`)
	// secretValue finds join tokens, JWTs, PEM blocks, bearer headers and
	// credentials in URLs, wherever they stand in a text.
	secretValue = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|\beyJ[\w-]{8,}\.[\w.-]+|-----BEGIN [\s\S]*|(?i:\b(?:bearer|basic)\s+\S+)|://[^/\s@]*:[^/\s@]+@`)
)

// maskDetail returns what may be stored of a detail: few, short, without secrets.
func maskDetail(detail map[string]string) map[string]string {
	kept := make(map[string]string, min(len(detail), detailPairs))
	for _, key := range slices.Sorted(maps.Keys(detail)) {
		value := detail[key]
		if value == "" {
			continue
		}
		if len(kept) == detailPairs {
			break
		}
		if secretKey.MatchString(key) {
			value = masked
		}
		kept[clean(key, detailKey)] = clean(value, detailValue)
	}
	return kept
}

// clean makes one line of text that every database stores and every terminal
// shows as it is: no secrets, no control or formatting characters, at most
// limit bytes.
func clean(text string, limit int) string {
	if most := 16 * limit; len(text) > most { // what is far too long is not searched
		text = text[:most]
	}
	text = secretValue.ReplaceAllString(text, masked)
	text = strings.Map(func(char rune) rune {
		if unicode.IsControl(char) || unicode.In(char, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return char
	}, strings.ToValidUTF8(text, " "))
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
