-- Who may use the hub. Names are lower-case ASCII, so equal names are equal bytes.
CREATE TABLE users (
    name                 TEXT        PRIMARY KEY,
    role                 TEXT        NOT NULL,
    password_hash        TEXT        NOT NULL,
    must_change_password BOOLEAN     NOT NULL,
    disabled             BOOLEAN     NOT NULL,
    created_at           TIMESTAMPTZ NOT NULL,
    last_seen_at         TIMESTAMPTZ
);

-- A browser that is signed in. id names the session in lists; what the cookie
-- holds is kept as a hash only.
CREATE TABLE sessions (
    id           TEXT        PRIMARY KEY,
    token_hash   TEXT        NOT NULL UNIQUE,
    user_name    TEXT        NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    created_at   TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    address      TEXT        NOT NULL,
    agent        TEXT        NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_name);
