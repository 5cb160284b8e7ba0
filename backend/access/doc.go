// Package access knows who acts: users, their roles and their sessions.
//
// A session is a random token in a cookie; SQL holds its hash. It ends after
// 8 h without a request, after 24 h in any case, and at once when it is revoked
// or when its user's role or password changes. Passwords are hashed with
// argon2id. At least one enabled administrator remains at all times.
//
//	          POST /session            POST /session/password
//	no session ───────────► must change password ───────────► session
//	          └──────── password of one's own ─────────────────┘ │
//	          ◄── DELETE, revoke, role change, 8 h idle, 24 h ────┘
package access
