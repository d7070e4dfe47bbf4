import { z } from "zod";

/** How the session works: free conversation, or the workflow. */
export const WorkMode = z.enum(["free_chat", "workflow"]);
/** What the model may do: use tools, only talk, or read and plan without changes. */
export const ChatMode = z.enum(["agent", "chat", "plan"]);
