import { z } from "zod";

/** How the session works: talk freely, or follow the workflow (STATE-12). */
export const WorkMode = z.enum(["free_chat", "workflow"]);
/** Whether the model may use tools at all (STATE-12): `chat` means none. */
export const ChatMode = z.enum(["agent", "chat"]);
