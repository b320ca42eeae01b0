create table sessions (id text primary key, parent_session_id text, title text, message_count integer, prompt_tokens integer, completion_tokens integer, cost real, created_at integer, updated_at integer);
create table messages (id text primary key, session_id text, role text, parts text, model text, provider text, created_at integer, updated_at integer, finished_at integer, is_summary_message integer default 0);
insert into sessions values ('k1',null,'Helper',4,700,30,0,1794790800,1794790900);
insert into sessions values ('k2','k1','Sub',2,0,0,0,1794790850,1794790860);
insert into messages values ('m1','k1','user','[{"type": "text", "data": {"text": "Add a helper."}}]','','',1794790801,0,0,0);
insert into messages values ('m2','k1','assistant','[{"type": "reasoning", "data": {"thinking": "hm"}}, {"type": "text", "data": {"text": "I look."}}, {"type": "tool_call", "data": {"id": "c1", "name": "bash", "input": "{\"command\": \"ls\"}"}}]','gpt-x','openai',1794790802,0,0,0);
insert into messages values ('m3','k1','tool','[{"type": "tool_result", "data": {"tool_call_id": "c1", "name": "bash", "content": "a.rs", "is_error": false}}]','','',1794790803,0,0,0);
insert into messages values ('m4','k1','assistant','[{"type": "text", "data": {"text": "So far: a helper."}}, {"type": "finish", "data": {"reason": "end_turn"}}]','gpt-x','openai',1794790804,0,0,1);
insert into messages values ('m5','k2','user','[{"type": "text", "data": {"text": "find files"}}]','','',1794790851,0,0,0);
