def told(
    name: 'str | None', size: int
) -> (str):
    if (
        name is None
        and (size > 1 or size < 0)
    ):
        raise ValueError(f"no name for {size}, {{really}}")
    text = (
        name
        + b"it's".decode()
    )
    return (text)
