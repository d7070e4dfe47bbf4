import { AIMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";

const mark = "begins_answer";

/**
 * A partial answer as the last message of a request; the model continues at the next character. Only for models with
 * `ModelTarget.takesBeginning`.
 */
export function answerBeginning(text: string, reasoning: string): AIMessage {
  const additional_kwargs = { [mark]: true, ...(reasoning === "" ? {} : { reasoning_content: reasoning }) };
  // A cut may split a character, and strict providers refuse half of one.
  return new AIMessage({ content: text.toWellFormed(), additional_kwargs });
}

/** Whether a message is the beginning of the requested answer. */
export function isAnswerBeginning(message: BaseMessage | undefined): boolean {
  return message !== undefined && isAIMessage(message) && message.additional_kwargs[mark] === true;
}
