create table sessions(
    session_id text not null,
    source text not null,
    project text not null,
    started integer,
    ended integer,
    seen_by_model integer,
    name text not null,
    name_by text not null,
    name_at integer,
    summary text not null,
    summary_by text not null,
    summary_at integer,
    pinned integer not null,
    primary key(session_id, source)
) without rowid;

-- One that a person took away stays, so that no job brings it back.
create table tags(
    session_id text not null,
    source text not null,
    tag text not null,
    given_by text not null,
    shed integer not null,
    primary key(session_id, source, tag)
) without rowid;

create table facts(
    id text primary key,
    text text not null,
    state text not null,
    origin text not null,
    symbols text not null,
    project text not null,
    pinned integer not null,
    edited integer not null,
    made integer
) without rowid;

create table evidence(
    fact text not null references facts(id) on delete cascade,
    session_id text not null,
    source text not null,
    message_id text not null,
    primary key(fact, session_id, source, message_id)
) without rowid;
create index evidence_of on evidence(session_id, source);

-- What a person wants to hear no more of: the id of a fact, which is a hash of its words, in a session; '' is all of the
-- session.
create table forgotten(
    session_id text not null,
    source text not null,
    fact text not null,
    primary key(session_id, source, fact)
) without rowid;

create table meta(name text primary key, value integer) without rowid;
