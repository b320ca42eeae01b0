import { MemoryStore, OpenMode } from "./index"
import * as all from "./store"

const given: all.Store<string> = all.open(OpenMode.Read)
export const told = `𝒳${given.size}` /* é𝒳 */ + given.get("a")

export class Shelf extends MemoryStore<number> {
    total = 0

    put(key: string, value: number) {
        super.put(key, value)
        this.total += value
    }
}
