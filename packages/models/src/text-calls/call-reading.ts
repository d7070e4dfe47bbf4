import type { Cursor } from "./cursor.ts";
import type { PartList } from "./forms/tool-use.ts";

/** The context of the call readers. */
export interface CallReading {
  cursor: Cursor;
  parts: PartList;
  /** Whether there is a tool of that name. */
  isTool: (name: string) => boolean;
  /** Whether `name` may be called. In the written form any name may; unknown ones are answered with an error. */
  mayName: (name: string) => boolean;
  /** The tags of the tools, for grammar B. */
  tools: readonly string[];
}
