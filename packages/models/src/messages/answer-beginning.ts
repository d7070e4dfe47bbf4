import { AIMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";

const mark = "begins_answer";

/**
 * What a model has said of an answer so far, as the last message of a request: the model goes on with its very next character. Only for models that take it (`ModelTarget.takesBeginning`).
 */
export function answerBeginning(text: string, reasoning: string): AIMessage {
  const additional_kwargs = { [mark]: true, ...(reasoning === "" ? {} : { reasoning_content: reasoning }) };
  // A cut may fall into a character; strict providers refuse half of one.
  return new AIMessage({ content: text.toWellFormed(), additional_kwargs });
}

/** Whether a message is the beginning of the answer that is asked for. */
export function isAnswerBeginning(message: BaseMessage | undefined): boolean {
  return message !== undefined && isAIMessage(message) && message.additional_kwargs[mark] === true;
}
