import { JSONRPCMessageSchema, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageLimit } from "./message-limit.ts";

/** What came: messages in order, and why nothing more can be read, if so. */
export interface ReadMessages {
  messages: JSONRPCMessage[];
  problem?: string;
}

/**
 * Cuts the output of a server into messages, one to a line. Programs like to greet on their output, so a line that does
 * not look like a message is passed over; one that does and is none leaves somebody waiting, so it is a problem.
 */
export class MessageLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** Takes the next bytes. After a problem it must not be called again. */
  read(bytes: Buffer): ReadMessages {
    const messages: JSONRPCMessage[] = [];
    let start = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      this.#keep(bytes.subarray(start, end));
      start = end + 1;
      if (this.#length > messageLimit) return { messages, problem: tooLong };
      const line = Buffer.concat(this.#parts).toString("utf8").trim();
      this.#parts = [];
      this.#length = 0;
      const message = parseLine(line);
      if (message === "broken") return { messages, problem: "it sent something that is no JSON-RPC message" };
      if (message !== "chatter") messages.push(message);
    }
    this.#keep(bytes.subarray(start));
    return this.#length > messageLimit ? { messages, problem: tooLong } : { messages };
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

const tooLong = `it sent a message of more than ${messageLimit / 1024 / 1024} MB`;

function parseLine(line: string): JSONRPCMessage | "chatter" | "broken" {
  if (!line.startsWith("{")) return "chatter";
  try {
    const value: unknown = JSON.parse(line);
    const parsed = JSONRPCMessageSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    // A line of a log may be JSON too.
    return typeof value === "object" && value !== null && "jsonrpc" in value ? "broken" : "chatter";
  } catch {
    return "broken";
  }
}
