import { identity } from "./identity.ts";
import { identityAgentic } from "./identity-agentic.ts";
import { identityChat } from "./identity-chat.ts";
import { identityCircuit } from "../../../toolkits/circuits/prompts/identity-circuit.ts";
import { identityDocument } from "./identity-document.ts";
import { identityMinimal } from "./identity-minimal.ts";
import { identityPlanner } from "../../../toolkits/planner/prompts/identity-planner.ts";
import type { Template } from "../template.ts";
import type { Profile } from "../../state.ts";

/** The built-in identity of each profile: one for each kind of work. */
export const builtInIdentities = {
  general: identity,
  document: identityDocument,
  chat: identityChat,
  circuit: identityCircuit,
  planner: identityPlanner,
  agentic: identityAgentic,
} satisfies Record<Profile, Template>;

export { identityMinimal };
