public delegate int Pick(string name);
