import type { Cursor } from "./cursor.ts";
import type { PartList } from "./forms/tool-use.ts";

/** What the readers of calls work with. */
export interface CallReading {
  cursor: Cursor;
  parts: PartList;
  /** Whether there is a tool of that name. */
  isTool: (name: string) => boolean;
  /** Whether a call that cannot be anything else may have the name: where any may, the model is told of those nobody has. */
  mayName: (name: string) => boolean;
  /** The tags of the tools, for grammar B. */
  tools: readonly string[];
}
