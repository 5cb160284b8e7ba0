import { Fragment } from 'react';

/** A term of an API, such as ManagedClusterConditionAvailable: where there is no room for the whole it breaks between its words. */
export function Term({ text }: { text: string }) {
  return text.split(/(?<=[a-z0-9])(?=[A-Z])/).map((word, index) => <Fragment key={index}>{index > 0 && <wbr />}{word}</Fragment>);
}
