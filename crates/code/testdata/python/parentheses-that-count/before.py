def told(a, b, c):
    return (a + b) * c
