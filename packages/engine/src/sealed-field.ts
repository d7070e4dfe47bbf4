import type { BaseMessage } from "@langchain/core/messages";

/** Where the thoughts that only their vendor can read are kept on a message, for as long as its turn lasts. */
export const sealedField = "sealed_reasoning";

/** What is kept beside a message's words as others may see it: the same object where nothing in it is sealed. */
export function withoutSealed(kwargs: BaseMessage["additional_kwargs"]): BaseMessage["additional_kwargs"] {
  if (!(sealedField in kwargs)) return kwargs;
  const { [sealedField]: _sealed, ...rest } = kwargs;
  return rest;
}

/** Takes the sealed thoughts off messages whose turn is over: no vendor would read them. Answers with the same messages. */
export function dropSealed<Message extends BaseMessage>(messages: Message[]): Message[] {
  for (const message of messages) message.additional_kwargs = withoutSealed(message.additional_kwargs);
  return messages;
}
