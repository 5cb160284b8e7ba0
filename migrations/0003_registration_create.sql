-- One join of one cluster, told in stages. labels and options are JSON objects.
CREATE TABLE registrations (
    id           TEXT        PRIMARY KEY,
    flavour      TEXT        NOT NULL,
    cluster_name TEXT        NOT NULL,
    token_id     TEXT        NOT NULL,
    state        TEXT        NOT NULL,
    created_by   TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL,
    labels       TEXT        NOT NULL,
    options      TEXT        NOT NULL
);
CREATE INDEX registrations_by_token ON registrations (token_id);
CREATE INDEX registrations_by_cluster ON registrations (cluster_name);
CREATE INDEX registrations_by_state ON registrations (state, created_at);

CREATE TABLE registration_stages (
    registration_id TEXT    NOT NULL REFERENCES registrations (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    at              TIMESTAMPTZ,
    source          TEXT    NOT NULL,
    detail          TEXT    NOT NULL,
    code            TEXT    NOT NULL,
    cause           TEXT    NOT NULL,
    fix             TEXT    NOT NULL,
    PRIMARY KEY (registration_id, position)
);

CREATE TABLE registration_log (
    registration_id TEXT        NOT NULL REFERENCES registrations (id) ON DELETE CASCADE,
    seq             INTEGER     NOT NULL,
    at              TIMESTAMPTZ NOT NULL,
    line            TEXT        NOT NULL,
    PRIMARY KEY (registration_id, seq)
);
