-- The staged record of one cluster's way into the fleet.
CREATE TABLE registrations (
  id           text PRIMARY KEY,
  flavour      text NOT NULL,
  cluster_name text NOT NULL DEFAULT '',
  token_id     text NOT NULL DEFAULT '',
  state        text NOT NULL,
  created_by   text NOT NULL DEFAULT '',
  created_at   timestamp NOT NULL,
  updated_at   timestamp NOT NULL,
  labels       text NOT NULL DEFAULT '{}',
  options      text NOT NULL DEFAULT '{}'
);
CREATE INDEX registrations_state ON registrations (state, updated_at);
CREATE INDEX registrations_token ON registrations (token_id);
CREATE INDEX registrations_cluster ON registrations (cluster_name);

CREATE TABLE registration_stages (
  registration_id text NOT NULL REFERENCES registrations (id) ON DELETE CASCADE,
  position        integer NOT NULL,
  name            text NOT NULL,
  state           text NOT NULL,
  at              timestamp,
  source          text NOT NULL DEFAULT '',
  detail          text NOT NULL DEFAULT '',
  code            text NOT NULL DEFAULT '',
  cause           text NOT NULL DEFAULT '',
  fix             text NOT NULL DEFAULT '',
  PRIMARY KEY (registration_id, position)
);

CREATE TABLE registration_log (
  registration_id text NOT NULL REFERENCES registrations (id) ON DELETE CASCADE,
  seq             integer NOT NULL,
  at              timestamp NOT NULL,
  line            text NOT NULL,
  PRIMARY KEY (registration_id, seq)
);
