class C : I { void I.Run() { A(); } }
