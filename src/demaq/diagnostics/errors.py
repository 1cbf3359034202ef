"""The root of the exception tree.

DemaqError
    XQuerySyntaxError     (demaq.xquery)    a text is not XQuery
    SaxonError            (demaq.xquery)    the XQuery engine refused a query
    ApplicationNotFound   (demaq.language)  there is no application at that place
    ApplicationInvalid    (demaq.language)  an application has errors
    PipelineNotFound      (demaq.pipelines) there is no pipeline at that place
    PipelineInvalid       (demaq.pipelines) a pipeline has errors
    PipelineSyntaxError   (demaq.pipelines) a statement of a pipeline cannot be read
"""


class DemaqError(Exception):
    """The base of everything that Demaq raises on purpose."""
