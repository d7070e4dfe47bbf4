import type { Screen } from "./stream-hooks.ts";

/** What a page shows, without its buttons. */
export type Shown = Pick<Screen, "messages" | "isLoading" | "question" | "error">;

/** A chat page that a test looks at and clicks on. */
export interface ChatPage {
  threadId(): string;
  /** What it has shown since it was opened or loaded again, the newest last. */
  shown(): Promise<Shown[]>;
  act(action: "send" | "approve" | "stop", ...values: string[]): Promise<void>;
  reload(): Promise<void>;
  close(): Promise<void>;
}
