export { MemoryStore, Mode as OpenMode } from "./store"
export * as stores from "./store"
