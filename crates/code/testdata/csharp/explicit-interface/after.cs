class C : I { void I.Run() { B(); } }
