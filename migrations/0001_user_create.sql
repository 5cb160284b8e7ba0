-- Who may use the dashboard and the REST API.
CREATE TABLE users (
  name                 text PRIMARY KEY,
  role                 text NOT NULL CHECK (role IN ('admin', 'operator', 'viewer')),
  password_hash        text NOT NULL,
  disabled             boolean NOT NULL DEFAULT false,
  must_change_password boolean NOT NULL DEFAULT false,
  created_at           timestamp NOT NULL,
  last_seen_at         timestamp
);

-- The cookie holds a token; only its hash is kept.
CREATE TABLE sessions (
  id           text PRIMARY KEY,
  token_hash   text NOT NULL UNIQUE,
  user_name    text NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  address      text NOT NULL,
  agent        text NOT NULL,
  created_at   timestamp NOT NULL,
  last_seen_at timestamp NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_name);
CREATE INDEX sessions_age ON sessions (created_at);
