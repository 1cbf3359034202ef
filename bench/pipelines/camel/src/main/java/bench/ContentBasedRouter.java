package bench;

import org.apache.camel.model.ProcessorDefinition;

/** Facts that match go one way, those that do not the other. */
final class ContentBasedRouter extends FactRoutes {
    ContentBasedRouter(String form, String folder) {
        super(form, folder);
    }

    @Override
    void lines(ProcessorDefinition<?> messages) {
        messages.choice()
                .when()
                .jsonpath("$[?(@.matching == 'true')]")
                .to(at.growing("matching.jsonl"))
                .otherwise()
                .to(at.growing("others.jsonl"));
    }

    @Override
    void json(ProcessorDefinition<?> message) {
        message.multicast().to("direct:matching", "direct:others");
        from("direct:matching").setBody(facts(true)).filter(SOME).marshal().json().to(at.goal("matching.json"));
        from("direct:others").setBody(facts(false)).filter(SOME).marshal().json().to(at.goal("others.json"));
    }

    @Override
    void csv(ProcessorDefinition<?> message) {
        message.multicast().to("direct:matching", "direct:others");
        from("direct:matching").setBody(rows(true)).filter(SOME).marshal(CSV).to(at.goal("matching.csv"));
        from("direct:others").setBody(rows(false)).filter(SOME).marshal(CSV).to(at.goal("others.csv"));
    }
}
