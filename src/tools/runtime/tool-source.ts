import type { Tool } from "./tool.ts";

/** Where tools come from that are not of the house and may come and go, such as MCP servers. */
export interface ToolSource {
  /**
   * The tools that can be offered now; the first call may take a while. What cannot be reached has none and is warned
   * about, not thrown; only an abort is.
   */
  tools(signal: AbortSignal): Promise<Tool[]>;
  /** Ends whatever it has opened; it has no tools any more. */
  close(): Promise<void>;
}
