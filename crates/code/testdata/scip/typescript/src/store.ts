/** Keeps values under keys. */
export interface Store<T> {
    get(key: string): T | undefined
    readonly size: number
}

export class MemoryStore<T> implements Store<T> {
    private values = new Map<string, T>()

    constructor(readonly label = "𝒳 é") {}

    get(key: string): T | undefined {
        return this.values.get(key)
    }

    put(key: string, value: T): void {
        this.values.set(key, value)
    }

    get size(): number {
        return this.values.size
    }
}

export enum Mode {
    Read,
    Write,
}

export function open(mode: Mode): MemoryStore<string> {
    const store = new MemoryStore<string>()
    if (mode === Mode.Write) store.put("é", "𝒳")
    return store
}
