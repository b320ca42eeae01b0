import * as core from "elsewhere/core";

export interface Store {
  strip(): Map<string, core.Strict>;
}
