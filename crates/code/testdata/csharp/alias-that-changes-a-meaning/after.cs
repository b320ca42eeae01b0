using T = Far.Other.Thing;
class Clock { public T Tick; }
