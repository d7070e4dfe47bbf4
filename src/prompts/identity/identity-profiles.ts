import { identity } from "./identity.ts";
import { identityAgentic } from "./identity-agentic.ts";
import { identityChat } from "./identity-chat.ts";
import { identityMinimal } from "./identity-minimal.ts";
import type { Template } from "../template.ts";

/** The built-in identity of each profile: one for each kind of work. */
export const builtInIdentities: Readonly<Record<string, Template>> = {
  general: identity,
  chat: identityChat,
  agentic: identityAgentic,
};

export { identityMinimal };
