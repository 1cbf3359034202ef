package bench;

import org.apache.camel.model.ProcessorDefinition;

/** Messages without a fact that matches go no further; the others have such facts only. */
final class MessageFilter extends FactRoutes {
    MessageFilter(String form, String folder) {
        super(form, folder);
    }

    @Override
    void lines(ProcessorDefinition<?> messages) {
        messages.filter().jsonpath("$[?(@.matching == 'true')]").to(at.growing("filtered.jsonl"));
    }

    @Override
    void json(ProcessorDefinition<?> message) {
        message.setBody(facts(true)).filter(SOME).marshal().json().to(at.goal("filtered.json"));
    }

    @Override
    void csv(ProcessorDefinition<?> message) {
        message.setBody(rows(true)).filter(SOME).marshal(CSV).to(at.goal("filtered.csv"));
    }
}
