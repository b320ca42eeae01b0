using System.Timers;
class Clock { public Timer Tick; }
