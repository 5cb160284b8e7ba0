-- Which agents of Open Cluster Management the hub lets in without asking. Rules
-- that the command line gives (source flag) are here for the count of their
-- uses; the hub's start decides which of them count.
CREATE TABLE approval_rules (
    id           TEXT        PRIMARY KEY,
    kind         TEXT        NOT NULL,
    value        TEXT        NOT NULL,
    approve      BOOLEAN     NOT NULL,
    accept       BOOLEAN     NOT NULL,
    note         TEXT        NOT NULL,
    source       TEXT        NOT NULL,
    created_by   TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    uses         BIGINT      NOT NULL,
    last_used_at TIMESTAMPTZ,
    UNIQUE (kind, value)
);
