import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { hasPictures } from "../../context/pictures.ts";
import { profilesOf, rolesOf } from "../../loop/services.ts";
import { modelOfRole, type WorkingRole } from "@millrace/models/registry/roles";
import type { RunContext } from "../../state.ts";

/**
 * The model for this part of the work. If it sees no images and the messages have some: the vision model of the run or
 * the server, else its own counterpart, if any.
 */
export function modelForWork(
  role: WorkingRole,
  messages: readonly BaseMessage[],
  context: RunContext,
  config: LangGraphRunnableConfig,
): string {
  const server = rolesOf(config);
  const { role_models: run = {}, model: main } = context;
  const model = modelOfRole(role, { ...run, main }, server);
  const { vision, vision_model } = profilesOf(config)(model);
  if (vision || !hasImages(messages)) return model;
  return run.vision ?? server.vision ?? vision_model ?? model;
}

const hasImages = overGrowingList(false, (found, message) => found || hasImage(message) || hasPictures(message));

function hasImage(message: BaseMessage): boolean {
  const { content } = message;
  return (
    Array.isArray(content) && isHumanMessage(message) && content.some(({ type }) => /^image(?:_url)?$/u.test(type))
  );
}
