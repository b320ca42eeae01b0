-- Jobs by the fingerprint of their prompt. An answer is kept until the caller has stored it.
create table job(
  key text primary key,
  about text not null,
  state text not null default 'open' check (state in ('open', 'answered', 'done', 'parked')),
  attempts integer not null default 0,
  due integer not null default 0,
  lease_until integer not null default 0,
  changed integer not null,
  class text,
  error text,
  answer text
) strict;
create index job_about on job(about);

-- One row per call, written before it is made: a call without a recorded result has cost what was reserved for it.
create table receipt(
  id integer primary key,
  key text not null,
  about text not null,
  provider text not null,
  model text not null,
  bytes integer not null,
  reserved integer not null,
  tokens_in integer,
  tokens_out integer,
  told integer not null default 0,
  cost real,
  started integer not null,
  ended integer,
  counted integer not null,
  outcome text not null default 'under_way',
  error text
) strict;
create index receipt_counted on receipt(counted);

-- Endpoints that must not be called for a while.
create table door(
  name text primary key,
  failures integer not null,
  closed_until integer not null,
  class text not null,
  message text not null
) strict;
