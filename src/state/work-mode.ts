import { z } from "zod";

/** How the session works: talk freely, or follow the workflow. */
export const WorkMode = z.enum(["free_chat", "workflow"]);
/** What the model may do in a turn: use tools, only talk, or look and plan without changing anything. */
export const ChatMode = z.enum(["agent", "chat", "plan"]);
