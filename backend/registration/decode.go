package registration

import (
	"regexp"
	"strings"
)

// maxDecoded bounds the text that Decode looks at, in bytes, from its end: the
// last lines of a terminal tell why a command failed.
const maxDecoded = 64 << 10

// hint is a text that clients print, and what it means.
type hint struct {
	code    string
	pattern *regexp.Regexp
}

func hints(code string, patterns ...string) []hint {
	list := make([]hint, 0, len(patterns))
	for _, pattern := range patterns {
		list = append(list, hint{code, regexp.MustCompile(`(?i)` + pattern)})
	}
	return list
}

// terminalHints are what our agent, karmadactl, kubectl, curl and Go's TLS print when a
// registration fails. Earlier ones are the more telling.
var terminalHints = func() []hint {
	var all []hint
	for _, group := range [][]hint{
		hints(CodePin,
			`cluster CA found in cluster-info .*pin`, `public key .* not pinned`, `none of the public keys`, `does not match (?:the )?pin`, `pinned CA`),
		hints(CodeTokenUnknown,
			`could not find a JWS signature .*for token ID`, `no such token`, `token .* (?:is )?unknown`, `there is no token`),
		hints(CodeTokenSecret,
			`failed to verify JWS signature`, `invalid bearer token`, `the token'?s? secret`),
		hints(CodeTokenExpired, `token .*(?:has )?expired`),
		hints(CodeTokenBound, `was made for cluster .*, not for`, `has registered all the clusters`),
		hints(CodeSameCluster, `the cluster ID .* has been registered`, `registered already under the name`),
		hints(CodeNameTaken, `cluster .*already exists?`, `is already (?:registered|taken)`, `cluster name .* has been registered`),
		hints(CodeHubClock,
			`certificate has expired or is not yet valid`, `is not yet valid`, `clock(?:s)? .*(?:skew|apart)`),
		hints(CodeAgentPod,
			`ImagePullBackOff`, `ErrImagePull`, `ErrImageNeverPull`, `CrashLoopBackOff`, `InvalidImageName`, `deployment .*(?:exceeded its progress deadline|timed? ?out)`,
			`waiting for (?:the )?(?:deployment|pod|rollout)`),
		hints(CodeCSRRefused,
			`certificate(?:signingrequest)?s?(?: signing)? request .*(?:denied|not approved|refused|pending)`, `csr .*(?:denied|not approved|refused|pending)`),
		hints(CodeLinkRefused, `link (?:was )?refused`, `bad handshake`),
		hints(CodeTLS, `x509: certificate signed by unknown authority`, `self[- ]signed certificate`, `certificate verify failed`, `unable to get local issuer certificate`),
		hints(CodeProxy, `proxyconnect`, `Proxy Authentication Required`, `Received HTTP code 407`),
		hints(CodeHubUnreachable,
			`no such host`, `could not resolve host`, `connection refused`, `i/o timeout`, `no route to host`, `network is unreachable`, `connection timed out`, `failed to connect`,
			`context deadline exceeded`, `TLS handshake timeout`, `connection reset by peer`),
		hints(CodeAgentPermissions, `is forbidden: User`, `cannot (?:create|get|list|patch|update) resource`, `\(Forbidden\)`),
		hints(CodeTokenSecret, `\bUnauthorized\b`, `returned error: 401`),
		hints(CodeTokenBound, `returned error: 403`),
		hints(CodeKubeconfig, `no configuration has been provided`, `context "[^"]*" does not exist`, `invalid configuration`),
	} {
		all = append(all, group...)
	}
	return all
}()

var ownCode = regexp.MustCompile(`\bMU-[12]\d\d\b`)

// Decode says what the text of a terminal means, for failures that never reach
// the hub. A code of ours in it settles the matter; else the patterns decide.
func Decode(text string) Advice {
	if extra := len(text) - maxDecoded; extra > 0 {
		text = strings.ToValidUTF8(text[extra:], "")
	}
	text = terminalSequence.ReplaceAllString(text, "")
	for _, code := range ownCode.FindAllString(text, -1) {
		if _, ok := advices[code]; ok {
			return Advise(code)
		}
	}
	for _, hint := range terminalHints {
		if hint.pattern.MatchString(text) {
			return Advise(hint.code)
		}
	}
	return Advise("")
}
