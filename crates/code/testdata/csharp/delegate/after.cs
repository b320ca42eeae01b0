public delegate long Pick(string name);
