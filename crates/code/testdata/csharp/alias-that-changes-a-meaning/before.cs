using T = Far.Away.Thing;
class Clock { public T Tick; }
