import type { Artifact, Part } from "@a2a-js/sdk";
import type { RunEvent } from "../../run-events.ts";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, isHumanMessage, messageText } from "../../message-kinds.ts";
import { messagesIn } from "../../sessions/messages/conversation.ts";
import type { JsonObject, Run } from "../../storage/records.ts";
import { toWireJson } from "../answers/wire.ts";

/** What a task tells of an artifact: all of it, or what comes after what was told. */
export interface ArtifactPiece {
  artifact: Artifact;
  append: boolean;
  lastChunk: boolean;
}

/** A part of words. */
export function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" };
}

/** A part of data. */
export function dataPart(value: unknown): Part {
  return { content: { $case: "data", value }, metadata: undefined, filename: "", mediaType: "" };
}

function artifactOf(artifactId: string, part: Part): Artifact {
  return { artifactId, name: "answer", description: "", parts: [part], metadata: undefined, extensions: [] };
}

/**
 * Reads a run's events, in order, as artifacts: each message of the model is one, under its id, and comes in pieces as the
 * model writes it. At the end comes what was not told in pieces: the last message, or the values of a graph without messages.
 */
export function createArtifactReader(run: Run, hasMessages: boolean) {
  const told = new Map<string, string>();
  let values: JsonObject | undefined;
  return {
    read(event: RunEvent): ArtifactPiece | undefined {
      if (event.event === "values" && event.namespace.length === 0) values = event.data;
      if (event.event !== "messages" || !hasMessages || !isBaseMessage(event.data)) return undefined;
      const { data: message } = event;
      const { id = run.run_id } = message;
      const text = messageText(message);
      const before = told.get(id);
      if (!isAIMessage(message) || text === "" || (before !== undefined && !isBaseMessageChunk(message)))
        return undefined;
      told.set(id, (before ?? "") + text);
      return { artifact: artifactOf(id, textPart(text)), append: before !== undefined, lastChunk: false };
    },
    /** What the run has come to, as one artifact; `undefined` where that is nothing. */
    final(): Artifact | undefined {
      return finalArtifact(run, values, hasMessages);
    },
    /** The final artifact, unless its words were told already. */
    rest(): ArtifactPiece | undefined {
      const artifact = finalArtifact(run, values, hasMessages);
      const content = artifact?.parts[0]?.content;
      const isTold = content?.$case === "text" && [...told.values()].includes(content.value);
      return artifact === undefined || isTold ? undefined : { artifact, append: false, lastChunk: true };
    },
  };
}

function finalArtifact(run: Run, values: JsonObject | undefined, hasMessages: boolean): Artifact | undefined {
  if (values === undefined) return undefined;
  if (!hasMessages) {
    const { __interrupt__: _waiting, ...own } = values;
    const data: unknown = JSON.parse(toWireJson(own));
    return artifactOf(run.run_id, dataPart(data));
  }
  const messages = messagesIn(values);
  const answer = messages.slice(messages.findLastIndex(isHumanMessage) + 1).findLast(isAIMessage);
  if (answer === undefined || messageText(answer) === "") return undefined;
  return artifactOf(answer.id ?? run.run_id, textPart(messageText(answer)));
}
