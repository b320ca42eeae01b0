using System.Threading;
class Clock { public Timer Tick; }
