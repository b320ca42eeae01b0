-- What is known of every transcript. Everything here can be read again from the transcripts or the archive.
create table meta(name text primary key, value integer not null) without rowid;

-- A transcript and how much of it is known: its watermark.
create table files(
  id        integer primary key,
  name      integer not null unique, -- hash of source, path and part
  source    text not null,
  path      blob not null,
  part      text,
  origin    text,                    -- the device that wrote it; null for this one
  hint      text not null,
  family    blob not null,           -- transcripts that can hold copies of each other share one
  size      integer not null,
  inode     integer not null,
  changed   integer not null,
  inode_changed integer not null,
  consumed  integer not null,        -- the end of the last whole line that was read
  head      integer not null,        -- hash of the first bytes
  tail      integer not null,        -- hash of the last bytes before `consumed`
  birth     integer,
  abandoned text not null,
  bad       integer not null,
  problems  text not null,
  events    integer not null,
  shared    integer not null,        -- 1: other files hold copies of some of its events
  gone      integer not null,        -- 1: its agent has deleted it, the archive has it
  sequence  integer not null         -- of the change that touched it last; the text index says how far it has come
);
create index files_sequence on files(sequence);
create index files_changed on files(changed);
-- Everything a look at a transcript is compared with: every search reads all of it and nothing else of the table.
create index files_look on files(name, size, inode, changed, inode_changed, gone);
-- Transcripts that lost more than a tenth of their entries: how many the archive has, and how many of them alone.
create table shortened(file integer primary key, entries integer not null, kept integer not null);

create table families(path blob primary key) without rowid;

create table names(id integer primary key, name text not null unique);

-- A conversation under one id: a session and its subagents.
create table chats(id integer primary key, source text not null, session_id text not null, unique(session_id, source));

create table sessions(
  id        integer primary key,
  file      integer not null,
  ordinal   integer not null,
  chat      integer not null,
  agent_id  text,
  parent    text,
  project   text not null,
  cwd       text not null,
  branch    text not null,
  version   text not null,
  title     text,
  origin    text,
  started   integer,
  ended     integer,
  turns     integer not null,
  calls     integer not null,
  errors    integer not null,
  models    text not null,
  unique(file, ordinal)
);
create index sessions_chat on sessions(chat);
create index sessions_ended on sessions(ended);

-- A message, call or stray result; its number is file << 24 | ordinal.
create table events(
  id        integer primary key,
  key       integer not null,
  what      integer not null, -- row kind, detail and flags, packed
  at        integer,
  lasted    integer,
  place     integer not null,
  length    integer,          -- from `place` to its end
  session   integer not null,
  turn      integer not null,
  sequence  integer not null,
  name      integer,
  lines     integer not null,
  input     integer not null,
  output    integer not null,
  cache_read integer not null,
  cache_write integer not null,
  cache_write_1h integer not null,
  head      blob not null,    -- the beginning of its id
  failed    integer not null,
  told      integer not null  -- 1: the text index has its text; 0: it has none, or another file tells it
);
create index events_key on events(key);
create index events_failed on events(id) where failed = 1;
create index events_head on events(head);

-- Which call touched which file of a project.
create table paths(id integer primary key, path text not null unique);
create table touched(event integer primary key, path integer not null);
create index touched_path on touched(path);
