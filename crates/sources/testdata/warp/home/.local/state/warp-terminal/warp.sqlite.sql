create table agent_conversations (conversation_id text, conversation_data text, last_modified_at text);
create table ai_queries (exchange_id text, conversation_id text, start_ts text, input text, working_directory text, output_status text, model_id text);
insert into agent_conversations values ('w1','{}','2026-11-16 01:00:00');
insert into ai_queries values ('e1','w1','2026-11-16 01:00:00','[{"Query": {"text": "Add a helper."}}]','/srv/app','Completed','gpt-x');
insert into ai_queries values ('e2','w1','2026-11-16 01:00:05','[{"ActionResult": {}}]','/srv/app','Completed','gpt-x');
