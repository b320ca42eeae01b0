-- What a fact is, what it is about, and the fact that replaced it.
alter table facts add column kind text not null default 'decision';
alter table facts add column subject text not null default '';
alter table facts add column reverses integer not null default 0;
alter table facts add column superseded_by text;
create index superseded_facts on facts(superseded_by) where superseded_by is not null;
